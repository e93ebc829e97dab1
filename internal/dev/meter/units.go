package meter

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// writeUnits is the charge of a standard write: one unit for each KB of the
// item, one at least.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
func writeUnits(size int) float64 { return float64(max((size+1023)/1024, 1)) }

// readUnits is the charge of a read: one unit for each 4 KB strong, half a
// unit otherwise; a read that finds nothing is charged as 4 KB.
func readUnits(size int, strong bool) float64 {
	units := float64(max((size+4095)/4096, 1))
	if strong {
		return units
	}
	return units / 2
}

// ItemSize is the size of an item as DynamoDB counts it: names and values in
// UTF-8, a number about one byte for two digits and one more, a list or map
// three bytes and one for each element.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
func ItemSize(item map[string]types.AttributeValue) int {
	size := 0
	for name, value := range item {
		size += len(name) + valueSize(value)
	}
	return size
}

func valueSize(value types.AttributeValue) int {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return numberSize(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberBOOL, *types.AttributeValueMemberNULL:
		return 1
	case *types.AttributeValueMemberSS:
		size := 0
		for _, s := range v.Value {
			size += len(s)
		}
		return size
	case *types.AttributeValueMemberNS:
		size := 0
		for _, n := range v.Value {
			size += numberSize(n)
		}
		return size
	case *types.AttributeValueMemberBS:
		size := 0
		for _, b := range v.Value {
			size += len(b)
		}
		return size
	case *types.AttributeValueMemberL:
		size := 3
		for _, element := range v.Value {
			size += 1 + valueSize(element)
		}
		return size
	case *types.AttributeValueMemberM:
		size := 3
		for name, element := range v.Value {
			size += 1 + len(name) + valueSize(element)
		}
		return size
	}
	return 0
}

// numberSize counts the significant digits: leading and trailing zeros are not
// kept. A negative number takes one byte more.
func numberSize(number string) int {
	digits := strings.TrimLeft(number, "-+0.")
	digits, _, _ = strings.Cut(strings.ToUpper(digits), "E")
	digits = strings.ReplaceAll(digits, ".", "")
	digits = strings.TrimRight(digits, "0")
	size := (len(digits)+1)/2 + 1
	if strings.HasPrefix(number, "-") {
		size++
	}
	return size
}
