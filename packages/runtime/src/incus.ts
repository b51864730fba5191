export { checkIncus, checkIncusFences } from './find-incus.js';
export { clusterStatus } from './trial-cluster/cluster-status.js';
export { incusRoot } from './trial-cluster/install-incus.js';
export { joinWithToken as joinCluster } from './trial-cluster/join-with-token.js';
export { findTrialCluster, startTrialCluster, stopTrialCluster } from './trial-cluster/trial-cluster.js';
