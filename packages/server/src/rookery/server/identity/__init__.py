"""Who calls: accounts, logins, tokens and passwords; below the endpoints, which ask it."""
