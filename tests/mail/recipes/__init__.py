"""What it takes to try the recipes of the page: its blocks, homes with mail, and servers with their own settings."""
