"""Compiled code on disk: what is kept, under which key, and how it is read again."""
