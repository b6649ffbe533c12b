"""Documents of a collection: store, count, list, change and delete them."""
