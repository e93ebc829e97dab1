//go:build whole

package page

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"slices"
)

// indexed is a picture in the 256 colours that it has most of: a third of the bytes, and to the eye
// the same.
func indexed(picture []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	box := full.Bounds()
	count := map[color.RGBA]int{}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			if c, is := color.RGBAModel.Convert(full.At(x, y)).(color.RGBA); is {
				count[c]++
			}
		}
	}
	most := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Compare(count[b], count[a])
	})
	var colors color.Palette
	for _, c := range most[:min(len(most), 256)] {
		colors = append(colors, c)
	}
	small := image.NewPaletted(box, colors)
	draw.Draw(small, box, full, box.Min, draw.Src)
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err = encoder.Encode(&out, small)
	return out.Bytes(), err
}
