/** Key under which the prelude leaves the guards; the bridge takes them before any program runs. */
export const guardsKey = 'reducerdb$guards';
