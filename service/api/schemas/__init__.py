"""The bodies of requests and answers, and how what the use cases return becomes one; a file a route."""
