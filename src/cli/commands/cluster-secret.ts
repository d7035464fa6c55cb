import type { Command } from 'commander';
import { parseAs, type Shaped } from '../../values/json-shape.ts';
import type { Io } from '../io.ts';
import { Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';
import { sharedKeysShape } from './keys.ts';

/** Adds `cluster secret`, to give all hosts another secret while they run. */
export function addClusterSecret(cluster: Command, io: Io): void {
  const secret = cluster
    .command('secret')
    .description('see which hosts have the secret of the cluster, and change it');
  withYes(withServer(secret.command('show')))
    .description('show which secrets each host has, by fingerprint')
    .action(async (_: object, command: Command) => {
      const api = await new Session(io, command).apiWithIdentity();
      io.out(tableOf(await api.json('GET', '/v1/cluster/keys', sharedKeysShape)));
    });
  withYes(withServer(secret.command('rotate')))
    .description('switch the cluster to the second secret, once every host has it')
    .addHelpText('after', help)
    .action(async (_: object, command: Command) => {
      const api = await new Session(io, command).apiWithIdentity();
      const text = await api.text('POST', '/v1/cluster/secret/rotate');
      const shown = parseAs(text, sharedKeysShape);
      io.out(tableOf(shown));
      io.out(
        `${shown.secret} is in use. Take the one before out of the file of each host, and send`,
      );
      io.out('each host SIGHUP: from then on nobody can join or connect with it.');
    });
}

const help = `
Write the new secret to the file of --cluster-secret-file of every host, on a line of its own beside
the one before, and send each host SIGHUP. Then run this once, at any host. It is refused while a
host that runs lacks the new one. Where the secret is in REDUCERDB_CLUSTER_SECRET, put both there,
with a space between, and restart the hosts one after the other.`;

function tableOf({ secret, hosts }: Shaped<typeof sharedKeysShape>): string {
  return drawTable({
    header: ['HOST', 'SECRETS'],
    rows: hosts.map(({ host, secrets }) => [
      host,
      (secrets ?? ['not there'])
        .map((one) => (one === secret ? `${one} (in use)` : one))
        .join(', '),
    ]),
  });
}
