"""Where programs, openings and source trees come from: uploads, books, commits, archives."""
