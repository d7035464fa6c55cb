/** The secret of a cluster. No setting: a flag would show it in the list of processes. */
export const secretVariable = 'REDUCERDB_CLUSTER_SECRET';
