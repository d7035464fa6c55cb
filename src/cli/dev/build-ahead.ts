import { readFileSync } from 'node:fs';
import type { ModuleBuilder, RebuiltModule } from '../../bundle/module-builder.ts';

/** What became of a build. */
export type BuildResult =
  | { readonly kind: 'built'; readonly built: RebuiltModule }
  | { readonly kind: 'thrown'; readonly error: unknown };

interface Ahead {
  readonly file: string;
  /** Content of the file before the build began. */
  readonly content: Buffer | undefined;
  readonly result: Promise<BuildResult>;
  /** True: something else has changed since. */
  isStale: boolean;
}

/**
 * Builds while a save settles: a save is most often one event of one file, and the bundler is done
 * when that is clear. Such a build counts if that was all; else it is made again.
 */
export class BuildAhead {
  readonly #builder: Pick<ModuleBuilder, 'build'>;
  #ahead: Ahead | undefined;

  constructor(builder: Pick<ModuleBuilder, 'build'>) {
    this.#builder = builder;
  }

  /** A source has changed, and nothing is being built. */
  begin(file: string): void {
    if (this.#ahead !== undefined) {
      this.#ahead.isStale = true;
      return;
    }
    const content = contentOf(file);
    this.#ahead = { file, content, result: this.#build(), isStale: false };
  }

  /** Something has changed that may concern a build that was begun. */
  doubt(): void {
    if (this.#ahead !== undefined) this.#ahead.isStale = true;
  }

  /** The build of what is on the disk now, after a save has settled. */
  async take(): Promise<BuildResult> {
    const ahead = this.#ahead;
    if (ahead === undefined) return this.#build();
    // The bundler would answer a build beside it with what it has begun.
    const result = await ahead.result;
    this.#ahead = undefined;
    return ahead.isStale || !isSame(ahead) ? this.#build() : result;
  }

  #build(): Promise<BuildResult> {
    return this.#builder.build().then(
      (built) => ({ kind: 'built', built }),
      (error: unknown) => ({ kind: 'thrown', error }),
    );
  }
}

/** Two writes in short order can be one event, which came after the first. */
function isSame({ file, content }: Ahead): boolean {
  const now = contentOf(file);
  return content !== undefined && now !== undefined && content.equals(now);
}

function contentOf(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}
