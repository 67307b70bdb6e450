"""The composition root: settings in, a running site and its app out."""
