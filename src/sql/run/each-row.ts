import { assert } from '../../assert.ts';
import { ByteSink } from './byte-sink.ts';
import { type CompiledRead, type ExecutionRequest, stateOf } from './execution.ts';
import { paused, rowReady } from './operator.ts';

/**
 * Runs a read in one go and passes each of its rows to `visit` as `bytes[0, length)`, which are
 * valid until `visit` returns; none are kept. Ends early when it returns false. Throws
 * `SqlFailure`.
 */
export function eachRow(
  compiled: CompiledRead,
  request: ExecutionRequest,
  visit: (bytes: Uint8Array, length: number) => boolean,
): void {
  const state = stateOf(compiled.plan, request, Number.POSITIVE_INFINITY);
  request.budget.startSlice();
  try {
    for (const stage of compiled.stages) stage.run(state);
    const rows = compiled.make(state);
    const sink = new ByteSink();
    rows.open();
    for (;;) {
      const step = rows.next();
      assert(step !== paused, 'what cannot pause goes on');
      if (step !== rowReady) return;
      sink.reset();
      rows.write(sink);
      if (!visit(sink.bytes, sink.length)) return;
    }
  } finally {
    request.budget.endSlice();
  }
}
