import { type Command, Option } from 'commander';
import { CliError, type Io } from '../io.ts';
import { chooseServer } from '../server-choice.ts';
import { identityOfToken, notLoggedInText, Session } from '../session.ts';

export function addLogin(program: Command, io: Io): void {
  const login = program
    .command('login')
    .description('save an identity: a new one from the server, or that of a token')
    // The value is optional because `login show --token` is parsed here, too.
    .option('--token [token]', 'save this token')
    .option('-s, --server <server>', 'server that issues the identity')
    // There is no page to open: a login never needs a browser here.
    .addOption(new Option('--no-browser').hideHelp())
    .addOption(new Option('--server-issued-login <server>').hideHelp())
    .action(
      async (flags: { token?: string | true; serverIssuedLogin?: string }, command: Command) => {
        const session = new Session(io, command);
        if (flags.token === true) throw new CliError('--token requires the token to save', 2);
        if (flags.token !== undefined) {
          const identity = identityOfToken(flags.token);
          session.save({ ...session.config, token: flags.token });
          io.out(`Logged in with identity ${identity}`);
          io.out('Token saved.');
          return;
        }
        const flag = flags.serverIssuedLogin ?? session.flags.server;
        await session.loginDirectly(chooseServer(session.config, flag));
      },
    );
  login
    .command('show')
    .description('print your identity')
    .option('--token', 'also print the token')
    .action((_flags, command: Command) => {
      const { token } = new Session(io, command).config;
      const isTokenShown = command.optsWithGlobals().token !== undefined;
      if (token === undefined) {
        io.out(`${notLoggedInText} Run \`reducerdb login\` to log in.`);
        return;
      }
      io.out(`You are logged in as ${identityOfToken(token)}`);
      if (isTokenShown) io.out(`Your auth token (don't share this!) is ${token}`);
    });
  program
    .command('logout')
    .description('forget the saved identity')
    .action((_flags, command: Command) => {
      const session = new Session(io, command);
      const { token } = session.config;
      if (token === undefined) {
        io.out(notLoggedInText);
        return;
      }
      session.save({ ...session.config, token: undefined });
      io.out(`Logged out (identity ${identityOfToken(token)}).`);
    });
}
