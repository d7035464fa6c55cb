import type { ProgramLoader } from '../../database/program.ts';
import type { Progress } from '../../database/progress.ts';
import type { Realm } from '../../module/javascript/realm.ts';
import { loadJavaScriptProgram } from '../../module/javascript/runner.ts';
import { type LinkedProgram, ProgramError } from '../../module/runner.ts';
import { openRealm } from '../../node/realm.ts';

/** Turns an uploaded program's text into what a runner evaluates. Rejects with `ProgramError`. */
export type LinkProgram = (bytes: Uint8Array) => Promise<LinkedProgram>;

/** Loads programs into sandboxes of this thread; `progress` is notified while user code may run. */
export function programLoader(
  link: LinkProgram,
  progress: Progress,
  open: () => Realm = openRealm,
): ProgramLoader {
  return async ({ kind, bytes }, context) => {
    if (kind === 'wasm') {
      throw new ProgramError(
        'WebAssembly modules are not supported yet; publish with host_type=Js',
      );
    }
    const linked = await link(bytes);
    progress.loading();
    try {
      return loadJavaScriptProgram(linked, context, open());
    } finally {
      progress.resting();
    }
  };
}
