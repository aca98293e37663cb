package postgres

// HotStatements are those whose cost must depend on what they are for, and never
// on the size of a table.
var HotStatements = map[string]string{
	"lockLines": lockLines, "acceptRequests": acceptRequests,
	"lockRuns": lockRuns, "nextRequests": nextRequests, "firstPlaces": firstPlaces,
	"decide": decide, "change": change, "unseat": unseat, "unlist": unlist,
	"place": place,
	"tell":  tell, "tellFull": tellFull, "tellAgain": tellAgain,
}
