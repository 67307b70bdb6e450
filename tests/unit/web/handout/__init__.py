"""What servers hand out."""
