import type { Epoch } from '../../log/epoch.ts';
import { BinaryWriter } from '../../values/binary-writer.ts';
import { sha256 } from '../../values/sha256.ts';
import type { OpenConnection } from '../outcome.ts';

/**
 * In which history a client counts offsets. In the upper half the log. In the lower one whose rows
 * these are: rights and filters decide which ones a client sees; and for a client that was told of
 * commits before they were durable the run of this database (`runId`), because another one may not
 * have them.
 */
export function historyOf(
  epoch: Epoch,
  { caller: { rights, identity }, dialect }: OpenConnection,
  runId?: bigint,
): bigint {
  const writer = new BinaryWriter();
  writer.string(rights.key);
  writer.u256(identity);
  writer.string(dialect ?? '');
  if (runId !== undefined) writer.u64(runId);
  const digest = sha256(writer.finish());
  const whose = new DataView(digest.buffer).getBigUint64(0);
  return (BigInt.asUintN(64, epoch) << 64n) | whose;
}
