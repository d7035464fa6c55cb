import type { Command } from 'commander';
import { databasePath } from '../api.ts';
import { CliError, type Io, warnUnstable } from '../io.ts';
import { bridge } from '../mcp-bridge.ts';
import { withAnonymous, withServer } from '../program.ts';
import { Session } from '../session.ts';

export function addMcp(program: Command, io: Io): void {
  withAnonymous(withServer(program.command('mcp [database]')))
    .description('serve a host, or one database, to an agent over standard input and output')
    .addHelpText(
      'after',
      '\nWithout a database (argument or SERVICE_DB_NAME) the server is host-wide.\n' +
        'Configuration of an agent:\n' +
        '  { "mcpServers": { "db": { "command": "reducerdb", "args": ["mcp", "my-db"] } } }',
    )
    .action(async (word: string | undefined, _flags, command: Command) => {
      warnUnstable(io);
      const session = new Session(io, command);
      const api = session.api();
      const database = word ?? nonEmpty(io.environment.SERVICE_DB_NAME);
      const path = database === undefined ? '/v1/mcp' : await scopedPath(database, api);
      process.once('SIGTERM', () => process.exit(0));
      io.err(`Serving MCP over stdio, bridging to ${api.server.url}${path}`);
      await bridge({
        input: process.stdin,
        write: (line) => void process.stdout.write(`${line}\n`),
        send: (body, signal) =>
          api.send('POST', path, {
            headers: { 'content-type': 'application/json', accept: 'application/json' },
            body,
            signal,
          }),
      });
    });
}

/** The database is resolved once, so that a later change of its names does not move the agent. */
async function scopedPath(database: string, api: ReturnType<Session['api']>): Promise<string> {
  const answer = await api.send('GET', databasePath(database, '/identity'));
  if (answer.ok) return databasePath(await answer.text(), '/mcp');
  if (answer.status === 401) throw new CliError(await answer.text());
  throw new CliError(`failed to find database \`${database}\`.`);
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text;
}
