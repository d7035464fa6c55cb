import { useEffect, useState } from 'react';
import { Banner } from './banner.tsx';
import { Composer } from './composer.tsx';
import { useClient, useConnectionState, useQuery, useReducer } from './database.ts';
import { Messages } from './messages.tsx';
import { Notices } from './notices.tsx';
import { People } from './people.tsx';
import { Rooms } from './rooms.tsx';

const lobby = 'lobby';

export function App() {
  const me = useMe();
  const { rows: users, isReady } = useQuery((q) => q.user);
  const { rows: rooms } = useQuery((q) => q.room, { sort: byName });
  const [isMenuOpen, setMenuOpen] = useState(false);
  const myself = users.find(({ identity }) => me !== undefined && identity.equals(me));
  // Which room somebody is in is a row of the database: all windows of a person agree on it.
  const room = rooms.find(({ name }) => name === (myself?.room ?? lobby));

  const joinRoom = useReducer((reducers) => reducers.joinRoom);
  const isNew = isReady && me !== undefined && myself === undefined;
  useEffect(() => {
    // To be seen by the others, and not only to see them. Should it fail, the next call does it.
    if (isNew) joinRoom({ name: lobby }).catch(() => {});
  }, [isNew, joinRoom]);

  return (
    <Notices>
      <div className="app">
        <aside className={isMenuOpen ? 'side open' : 'side'}>
          <h1>Live chat</h1>
          <Rooms rooms={rooms} current={room?.name} onChosen={() => setMenuOpen(false)} />
          <People users={users} me={me} />
        </aside>
        <button
          type="button"
          className="shade"
          aria-label="Close the menu"
          hidden={!isMenuOpen}
          onClick={() => setMenuOpen(false)}
        />
        <main>
          <header>
            <button
              type="button"
              className="menu"
              aria-label="Rooms and people"
              onClick={() => setMenuOpen(true)}
            >
              ☰
            </button>
            <div>
              <h2># {room?.name ?? '…'}</h2>
              <p>{room?.topic}</p>
            </div>
          </header>
          <Banner />
          <Messages room={room?.name ?? lobby} users={users} me={me} />
          <Composer room={room?.name ?? lobby} me={me} />
        </main>
      </div>
    </Notices>
  );
}

/** Our own identity; known from the first connection on. */
function useMe() {
  useConnectionState();
  return useClient().identity;
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name.localeCompare(b.name);
}
