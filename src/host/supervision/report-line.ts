/**
 * A message for the operator as part of the line about a database: fragments follow its name, and
 * what is a sentence of its own begins with this.
 */
export function asSentence(message: string): string {
  return `: ${message}`;
}

/** The line: the name of the database, and what is reported about it. */
export function lineAbout(name: string, message: string): string {
  return message.startsWith(': ') ? `${name}${message}` : `${name} ${message}`;
}
