import type { Preview, PreviewOutcome } from '../../src/database/preview-outcome.ts';
import type { RowList } from '../../src/store/change-set.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import type { Decoder } from '../../src/values/decode.ts';
import type { Value } from '../../src/values/value.ts';

/** The preview in an outcome that has one. */
export function previewIn(outcome: PreviewOutcome): Preview {
  if (!('preview' in outcome)) throw new Error(`${outcome.kind}: ${outcome.message}`);
  return outcome.preview;
}

/** The rows of a list, as values. */
export function decodedRows({ bytes, count }: RowList, decode: Decoder): Value[] {
  const reader = new BinaryReader(bytes);
  return Array.from({ length: count }, () => decode(reader));
}
