package webhook

import "github.com/streamsort/streamsort/internal/mapping"

// PresetTexts are the paths of each preset.
func PresetTexts() map[string]mapping.Texts {
	all := map[string]mapping.Texts{}
	for name, p := range presets {
		all[name] = p.texts
	}
	return all
}
