/** A plan without its frame of lines and its heading; empty: it changes nothing that has rows. */
export function planText(text: string): string {
  return text
    .split('\n')
    .filter((line) => !/^[━─=\s]+$/.test(line) && line.trim() !== 'Database Migration Plan')
    .join('\n')
    .trim();
}
