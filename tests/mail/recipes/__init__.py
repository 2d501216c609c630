"""Helpers of the tests of recipes: blocks of the page, home folders, servers."""
