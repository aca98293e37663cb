package mail

// Linkable tells whether mails leave out a name.
var Linkable = linkable
