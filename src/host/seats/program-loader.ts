import type { ProgramLoader } from '../../database/program.ts';
import type { ProgramSource } from '../../database/program-source.ts';
import type { Progress } from '../../database/progress.ts';
import type { Realm } from '../../module/javascript/realm.ts';
import { prepareJavaScriptProgram } from '../../module/javascript/runner.ts';
import { type LinkedProgram, type ModuleRunner, ProgramError } from '../../module/runner.ts';
import { openRealm } from '../../node/realm.ts';

/** Turns an uploaded program's text into what a runner evaluates. Rejects with `ProgramError`. */
export type LinkProgram = (bytes: Uint8Array) => Promise<LinkedProgram>;

export interface LoaderOptions {
  readonly open?: () => Realm;
  /** Called with each program that was loaded. */
  readonly loaded?: ((source: ProgramSource, program: LoadedRealm) => void) | undefined;
}

export interface LoadedRealm {
  /** Of the program, 64 hex digits. */
  readonly hash: string;
  readonly linked: LinkedProgram;
  readonly runner: ModuleRunner;
  readonly publishedMicros: bigint;
}

/** Loads programs into sandboxes of this thread; `progress` is notified while user code may run. */
export function programLoader(
  link: LinkProgram,
  progress: Progress,
  { open = openRealm, loaded }: LoaderOptions = {},
): ProgramLoader {
  return async (source, context) => {
    const { kind, bytes } = source;
    if (kind === 'wasm') {
      throw new ProgramError(
        'WebAssembly modules are not supported yet; publish with host_type=Js',
      );
    }
    // A linker is another process: the sandbox is made meanwhile.
    const prepare = async () => prepareJavaScriptProgram(context, open());
    const [linked, load] = await Promise.all([link(bytes), prepare()]);
    progress.loading();
    try {
      const runner = load(linked);
      const { publishedMicros, programHash } = context;
      loaded?.(source, { hash: programHash(), linked, runner, publishedMicros });
      return runner;
    } finally {
      progress.resting();
    }
  };
}
