package mail

// Linkable tells whether a name is shown in no mail.
var Linkable = linkable
