/** Quotes a name for statements, whatever characters it has. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
