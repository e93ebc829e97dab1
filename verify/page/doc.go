// Package page tries the live page in a real browser, on a whole stack: its tests start both. `make
// bench ONLY=screenshots` keeps pictures of what they see. Nothing is left behind but those.
package page
