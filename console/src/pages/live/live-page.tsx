import { useState } from 'react';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { IdentityText, shortIdentity } from '../../parts/identity.tsx';
import { bytesText, countText } from '../../parts/numbers.ts';
import { PageFrame, Panel } from '../../parts/page.tsx';
import { Empty, WhenLoaded } from '../../parts/state.tsx';
import { Table, type TableColumn } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { complain, say } from '../../parts/toast.tsx';
import {
  type ClientConnection,
  disconnectClient,
  readConnections,
  readWatches,
} from '../../service/connections.ts';
import { useLoad } from '../../service/load.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import { Watches } from './watches.tsx';

const everyMillis = 2_000;

/** Who is connected, and which queries they watch at what cost. */
export function Page() {
  const { database } = useDatabase();
  const options = { everyMillis };
  const connections = useLoad(`of ${database}`, (stop) => readConnections(database, stop), options);
  const watches = useLoad(`in ${database}`, (stop) => readWatches(database, stop), options);
  const [ended, setEnded] = useState<ClientConnection | null>(null);
  const disconnect = async ({ id, identity }: ClientConnection) => {
    try {
      await disconnectClient(database, id);
      say(`${shortIdentity(identity)} was disconnected`);
      connections.reload();
    } catch (error) {
      complain('The client was not disconnected', error);
    }
    setEnded(null);
  };
  return (
    <PageFrame title="Live" about="Clients that stay connected, and the queries that they watch.">
      <Panel title="Connections" isBare>
        <WhenLoaded of={connections}>
          {(list) => <Connections list={list} onEnd={setEnded} />}
        </WhenLoaded>
      </Panel>
      <Panel title="Watched queries" isBare>
        <WhenLoaded of={watches}>{(list) => <Watches list={list} />}</WhenLoaded>
      </Panel>
      {ended !== null && (
        <Confirm
          title="Disconnect this client?"
          action="Disconnect"
          onConfirm={() => disconnect(ended)}
          onClose={() => setEnded(null)}
        >
          <p>
            The connection of {shortIdentity(ended.identity)} from {ended.address} is closed. The
            client may connect again; take away a role or a token to keep it out.
          </p>
        </Confirm>
      )}
    </PageFrame>
  );
}

interface ConnectionsProps {
  readonly list: readonly ClientConnection[];
  readonly onEnd: (connection: ClientConnection) => void;
}

function Connections({ list, onEnd }: ConnectionsProps) {
  const { whyNot } = useDatabase();
  if (list.length === 0) {
    return (
      <Empty icon="live" title="Nobody is connected">
        Clients that call over HTTP alone are not in this list; the ledger on the page Access has
        them.
      </Empty>
    );
  }
  const columns: readonly TableColumn<ClientConnection>[] = [
    { title: 'Identity', cell: ({ identity }) => <IdentityText hex={identity} /> },
    { title: 'Since', cell: ({ since }) => <Ago time={since} /> },
    { title: 'Address', cell: ({ address }) => <code>{address}</code> },
    { title: 'Protocol', cell: ({ protocol }) => protocol },
    { title: 'Queries', isNumber: true, cell: ({ queries }) => countText(queries) },
    { title: 'Waiting', isNumber: true, cell: ({ queuedBytes }) => bytesText(queuedBytes) },
    {
      title: 'Sent/s',
      isNumber: true,
      cell: ({ sentBytesPerSecond }) => bytesText(sentBytesPerSecond),
    },
    {
      title: '',
      isNumber: true,
      cell: (connection) => (
        <Button
          size="small"
          off={whyNot('disconnect_clients')}
          aria-label={`Disconnect ${shortIdentity(connection.identity)}`}
          onClick={() => onEnd(connection)}
        >
          Disconnect
        </Button>
      ),
    },
  ];
  return <Table label="Connections" columns={columns} rows={list} keyOf={({ id }) => id} />;
}
