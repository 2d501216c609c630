"""Folders on an IMAP server: their addresses, connections, messages and moves. Needs the extra ``imap``."""
