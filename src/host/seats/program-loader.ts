import type { ProgramLoader } from '../../database/program.ts';
import type { ProgramSource } from '../../database/program-source.ts';
import type { Progress } from '../../database/progress.ts';
import { openSandbox, type Sandbox } from '../../module/javascript/runner.ts';
import { type LinkedProgram, type ModuleRunner, ProgramError } from '../../module/runner.ts';
import { openRealm } from '../../node/realm.ts';

/** Turns an uploaded program's text into what a runner evaluates. Rejects with `ProgramError`. */
export type LinkProgram = (bytes: Uint8Array) => Promise<LinkedProgram>;

export interface LoaderOptions {
  readonly open?: () => Sandbox;
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
  { open = () => openSandbox(openRealm()), loaded }: LoaderOptions = {},
): ProgramLoader {
  return async (source, context) => {
    const { kind, bytes } = source;
    if (kind === 'wasm') {
      throw new ProgramError(
        'WebAssembly modules are not supported yet; publish with host_type=Js',
      );
    }
    // A linker is another process: the sandbox is made meanwhile.
    const make = async () => open();
    const [linked, load] = await Promise.all([link(bytes), make()]);
    progress.loading();
    try {
      const runner = load(linked, context);
      const { publishedMicros, programHash } = context;
      loaded?.(source, { hash: programHash(), linked, runner, publishedMicros });
      return runner;
    } finally {
      progress.resting();
    }
  };
}
