import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildModule } from '../../src/bundle/build-module.ts';
import { describeProgram } from '../../src/host/publishing/describe-program.ts';
import { writeSchemaFile } from '../../src/schema/schema-file.ts';
import { writeFiles } from './cli-support.ts';

export interface WrittenMigration {
  /** Without it `0001-x`, `0002-x` and so on. */
  readonly id?: string;
  readonly steps: string;
  /** Steps of the way back. */
  readonly down?: string;
  /** The program whose tables it starts from. */
  readonly from: Uint8Array<ArrayBuffer>;
}

/** Builds modules whose texts a test writes, with migrations. */
export class MigratedModules {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-migrated-'));
  #count = 0;

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }

  async build(
    module: string,
    migrations: readonly WrittenMigration[] = [],
  ): Promise<Uint8Array<ArrayBuffer>> {
    this.#count += 1;
    const project = path.join(this.#folder, `p${this.#count}`);
    writeFiles(project, {
      'package.json': '{"name":"p","type":"module"}',
      'src/index.ts': module,
    });
    for (const [at, migration] of migrations.entries()) {
      const { id = `000${at + 1}-x`, steps, down, from } = migration;
      const schema = writeSchemaFile(await descriptionOf(from));
      const hash = JSON.parse(schema).hash;
      const back = down === undefined ? '' : `down: (m) => [${down}],`;
      writeFiles(project, {
        [`migrations/${id}.schema.json`]: schema,
        [`migrations/${id}.ts`]: `
          import { migration } from 'reducerdb/server';
          export default migration({
            id: '${id}', from: '${hash}', steps: (m) => [${steps}], ${back}
          });
        `,
      });
    }
    return new Uint8Array((await buildModule(project, {})).program);
  }
}

export async function descriptionOf(program: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const description = await describeProgram(program);
  if (description.kind === 'refused') throw new Error(description.message);
  return description.bytes;
}
