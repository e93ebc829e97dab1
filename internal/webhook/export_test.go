package webhook

// ParseSecrets is parseSecrets, for its fuzz target.
var ParseSecrets = parseSecrets
