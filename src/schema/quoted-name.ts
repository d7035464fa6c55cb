/** A name as statements write it, whatever characters it has. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
