"""Notifications to people outside of the pages: an outbox, mail, webhooks."""
