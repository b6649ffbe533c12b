"""The vector index of a collection, and the engines that search its rows."""
