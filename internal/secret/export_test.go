package secret

// ParseValues is parseValues, for its fuzz target.
var ParseValues = parseValues
