// Package fakebin makes functions' binaries that can be packed, if not run,
// so that the stack's tests need no build of the functions.
package fakebin

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// Write makes a folder with a bootstrap for each of the stack's functions, a
// program without instructions for the processor of this GOARCH.
func Write(t *testing.T, arch string) string {
	t.Helper()
	dir := t.TempDir()
	for _, function := range []string{"enqueue", "sort", "sweep"} {
		folder := filepath.Join(dir, function)
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "bootstrap"), header(t, arch), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func header(t *testing.T, arch string) []byte {
	t.Helper()
	machines := map[string]elf.Machine{"arm64": elf.EM_AARCH64, "amd64": elf.EM_X86_64}
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(machines[arch]), Version: uint32(elf.EV_CURRENT)}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS] = byte(elf.ELFCLASS64)
	h.Ident[elf.EI_DATA] = byte(elf.ELFDATA2LSB)
	h.Ident[elf.EI_VERSION] = byte(elf.EV_CURRENT)
	text, err := binary.Append(nil, binary.LittleEndian, h)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
