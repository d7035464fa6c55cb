import { existsSync } from 'node:fs';
import path from 'node:path';
import { bundleScript } from '../../bundle/bundle-script.ts';
import type { DevScreen } from './dev-screen.ts';
import { placeVariables, SideCommand } from './front-end.ts';

export interface SeedRun {
  /** Of the project. */
  readonly root: string;
  /** The file, see `seedFile`. */
  readonly file: string;
  /** Folder for the script that is made of it. */
  readonly folder: string;
  /** Folders of bindings that may type it; the first that is there is taken. */
  readonly bindings: readonly string[];
  readonly url: string;
  readonly database: string;
  readonly token: string | undefined;
  readonly screen: DevScreen;
  readonly environment: NodeJS.ProcessEnv;
  /** Receives the command, to end it with this process. */
  readonly started: (command: SideCommand) => void;
}

/** The seed of a project, if it has one. */
export function seedFile(root: string, module: string): string | undefined {
  const names = [root, module].map((folder) => path.join(folder, 'seed.ts'));
  return names.find((file) => existsSync(file));
}

/** Runs the seed in a process of its own; `true` if it succeeded. Rejects with `BuildError`. */
export async function runSeed(run: SeedRun): Promise<boolean> {
  const { root, folder, url, database, token, screen, environment } = run;
  const output = path.join(folder, 'seed.mjs');
  await bundleScript({ text: scriptOf(run), folder: root, output });
  const command = new SideCommand({
    command: `"${process.execPath}" --enable-source-maps "${output}"`,
    folder: root,
    screen,
    mark: '[seed] ',
    environment: {
      ...environment,
      ...placeVariables(url, database),
      REDUCERDB_DEV_TOKEN: token ?? '',
    },
  });
  run.started(command);
  return (await command.ended) === 0;
}

/**
 * Calls what the seed exports with a connection: that of the bindings, else one that reads the
 * schema from the service. A seed that exports nothing has done its work by then.
 */
function scriptOf({ file, bindings }: SeedRun): string {
  const folder = bindings.find((each) => existsSync(path.join(each, 'index.ts')));
  const quoted = (text: string) => JSON.stringify(text);
  const imports = [`import * as seed from ${quoted(file)};`];
  imports.push(
    folder === undefined
      ? "import { connect } from 'reducerdb/client';"
      : `import { DbConnection } from ${quoted(path.join(folder, 'index.ts'))};`,
  );
  return [
    ...imports,
    'const { REDUCERDB_URL: uri, REDUCERDB_DATABASE: database, REDUCERDB_DEV_TOKEN: token } =',
    '  process.env;',
    folder === undefined ? connectPlainly : connectByBindings,
    "if (typeof seed.default === 'function') {",
    '  const connection = await open();',
    '  await seed.default(connection);',
    '  connection.disconnect();',
    '}',
  ].join('\n');
}

const connectPlainly = 'const open = async () => connect({ uri, database, token });';

const connectByBindings = `const open = () =>
  new Promise((resolve, reject) => {
    DbConnection.builder()
      .withUri(uri)
      .withDatabaseName(database)
      .withToken(token)
      .onConnect((connection) => resolve(connection))
      .onConnectError((_context, error) => reject(error))
      .build();
  });`;
