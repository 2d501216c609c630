"""Side by side with other libraries and with what the machine can do."""
