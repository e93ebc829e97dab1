package main

// stores are those of all packages.
var stores = []store{}
