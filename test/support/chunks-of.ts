/** The stream cut into chunks of these lengths, over and over. */
export function chunksOf(stream: Buffer, lengths: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0, turn = 0; at < stream.length; turn += 1) {
    const length = lengths[turn % lengths.length] ?? 1;
    chunks.push(stream.subarray(at, at + length));
    at += length;
  }
  return chunks;
}
