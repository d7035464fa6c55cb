import { CliError } from './io.ts';
import { type ServerAddress, serverUrl } from './server-choice.ts';

/** The variable with a token and the server that it is for. */
export const ciTokenVariable = 'REDUCERDB_TOKEN';

/** A token, and the one server that it is sent to. */
export interface CiToken {
  readonly server: ServerAddress;
  readonly token: string;
}

/** Writes both as one text: `https://‹token›@db.example.com`. */
export function ciTokenText({ server, token }: CiToken): string {
  const url = new URL(server.url);
  // Tokens have only letters, digits and `-._`, so nothing is escaped.
  url.username = token;
  return url.href.replace(/\/$/, '');
}

/** Reads the variable; `undefined` if it is not set. No error shows its value. */
export function readCiToken(environment: NodeJS.ProcessEnv): CiToken | undefined {
  const text = environment[ciTokenVariable];
  if (text === undefined || text === '') return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username === '') {
    throw new CliError(
      `${ciTokenVariable} must hold the address of the server, too: https://‹token›@‹host›, or ` +
        'http://‹token›@127.0.0.1:3000 on this machine. `reducerdb token create --ci` and ' +
        '`reducerdb mcp --print-config ‹client› --token ‹kind›` print it',
    );
  }
  const token = url.username;
  url.username = '';
  const { origin, pathname } = serverUrl(url.href);
  const address = `${origin}${pathname}`.replace(/\/+$/, '');
  return { server: { url: address, name: address }, token };
}
