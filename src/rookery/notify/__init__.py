"""What people are told outside of the pages: an outbox, mail, webhooks."""
