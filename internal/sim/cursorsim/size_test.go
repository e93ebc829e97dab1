package cursorsim_test
import ("testing";"time";"fmt";"github.com/streamsort/streamsort/internal/sim/cursorsim")
func TestSizes(t *testing.T){
 for _,s:=range cursorsim.Small(){
  t0:=time.Now()
  n:=0
  func(){
   defer func(){ if r:=recover(); r!=nil {fmt.Println(r)} }()
   var f error
   st,fl:=s.Explore(func(k int){n=k; if k>300000 {panic("too many")}})
   n=st
   if fl!=nil {f=fl}
   if f!=nil {fmt.Println(f)}
  }()
  fmt.Println(s.Name,n,time.Since(t0))
 }
}
