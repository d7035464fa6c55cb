import { useEffect } from 'react';
import { useConnectionState, useTable } from 'reducerdb/react';
import { Banner } from './banner.tsx';
import { Header } from './header.tsx';
import { tables } from './module_bindings/index.ts';
import { NewTicket } from './new-ticket.tsx';
import { useRoute } from './route.ts';
import { TicketList } from './ticket-list.tsx';
import { TicketView } from './ticket-view.tsx';

export function App() {
  const route = useRoute();
  const [[me], isReady] = useTable(tables.me);
  const [queue] = useTable(tables.queue);
  const connection = useConnectionState();
  useEffect(() => {
    document.title = queue.length > 0 ? `(${queue.length}) Helpdesk` : 'Helpdesk';
  }, [queue.length]);
  if (!isReady || me === undefined) {
    return (
      <p className="empty" role="status">
        {connection.kind === 'waiting' ? 'No connection. Trying again …' : 'Connecting …'}
      </p>
    );
  }
  return (
    <div className={route.kind === 'none' ? 'app' : 'app beside'}>
      <Header me={me} />
      <Banner />
      <TicketList me={me} shown={route.kind === 'ticket' ? route.id : undefined} />
      <main>
        {route.kind === 'none' && (
          <p className="empty">
            {me.isAgent
              ? 'Choose a ticket. The one at the top has waited longest.'
              : 'Choose a ticket, or ask something new.'}
          </p>
        )}
        {route.kind === 'new' && <NewTicket />}
        {route.kind === 'ticket' && <TicketView key={String(route.id)} id={route.id} me={me} />}
      </main>
    </div>
  );
}
