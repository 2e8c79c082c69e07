"""The table of codes. A code is never used again for something else."""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """A code's kebab-case name, its usual severity and what it is about in one line."""

    name: str
    severity: str
    title: str


_TABLE = """
RCC001 not-utf8 error the file is not UTF-8 text
RCC002 byte-order-mark warning the file starts with a byte order mark
RCC003 invalid-toml error the file is not valid TOML
RCC004 duplicate-key error a key is defined twice
RCC005 file-too-large error the file is larger than rcc reads
RCC006 nesting-too-deep error arrays, tables or a dotted key are nested too deep
RCC007 unreadable-file error the file cannot be read
RCC008 unused-suppression warning a comment silences a finding that is not there
RCC009 suppression-without-reason warning a comment silences a finding and does not say why
RCC010 unknown-code error a code that rcc does not have
RCC011 too-many-findings info a file has more findings of a kind than are told
RCC101 captured-key error a top-level key stands under a table header, so the table has it
RCC102 misplaced-key error a key of one table stands in another
RCC103 single-brackets error a table header has single brackets where the key is an array of tables
RCC104 belongs-to-last warning a sub-table belongs to the last element of an array of tables alone
RCC105 table-before-array error a sub-table stands before the array of tables that it should belong to
RCC106 scattered-table warning a table is opened again far from its siblings
RCC107 dotted-and-header error a table has dotted keys in one place and a header in another
RCC108 absorbed-key warning a key may belong to the top level, and the table above it has it
RCC201 unknown-key error nothing reads this key
RCC202 wrong-type error a value has another type than its key takes
RCC203 out-of-range error a number or the length of an array is out of range
RCC204 missing-key error a key that must be there is missing
RCC205 invalid-value error a value is not one that its key takes
RCC206 conflicting-keys error two keys cannot stand together
RCC207 invalid-id error an id that files, units and objects cannot be called by
RCC208 extends-loop error recipes extend each other in a loop
RCC209 requires-rcc error the recipe wants another version of rcc
RCC210 ipc-host-with-user warning the host's shared memory and a user of one's own do not go together
RCC211 unset-nothing warning `unset` names what no base has
RCC301 template-syntax error a template is not one that rcc understands
RCC302 undefined-name error a template uses a name that is not defined
RCC303 late-bound-name error a name that is known only on the node stands where a build needs its value
RCC304 needs-lock error a template uses a name that only the lock knows
RCC305 unset-name error a template uses a name that this node or cluster gives no value
RCC306 filled-value error a value is not one that its key takes once its templates are filled
RCC307 template-as-text warning a template stands in a key that takes none
RCC308 shell-variable warning a value holds shell syntax that nothing expands
RCC401 set-by-compiler error the environment sets what the compiler sets for each rank
RCC402 node-overrides-recipe warning a node's environment changes a value of the recipe's
RCC403 overrides-profile info the recipe's environment wins over the cluster's profile
RCC404 same-as-profile info the recipe's environment repeats the cluster's profile
RCC405 variable-name warning an environment variable has a name that not every tool carries
RCC406 misspelt-variable warning nothing reads this variable, and a similar one exists
RCC407 pinned-gid-index warning the GID index is pinned, and it differs between nodes
RCC408 dead-nccl-variable info NCCL does not read this variable because of another one
RCC409 hca-lists-differ warning lists of RDMA adapters disagree
RCC410 interfaces-differ warning variables that name network interfaces disagree
RCC411 nccl-number warning NCCL reads this value as another number
RCC412 secret-in-clear error a secret stands in the file
RCC413 empty-nccl-value warning an empty value means different things to different readers
RCC414 nccl-list warning a list for NCCL holds what NCCL does not match
RCC415 gloo-interface warning Gloo wants the exact name of an interface
RCC416 ignored-address-range warning NCCL ignores this address range
RCC417 subnet-prefix-length error a prefix length that NCCL refuses
RCC418 nccl-choice warning NCCL does not know this value
RCC419 rdma-off-and-required error RDMA is required and switched off
RCC420 moved-cache warning a cache is moved out of the folder that rcc mounts for it
RCC501 compiler-owned-flag error an argument sets what a recipe key decides
RCC502 unknown-engine error no engine of this name is built in or installed
RCC503 unknown-flag warning the engine has no flag of this name
RCC504 repeated-flag warning a flag is given twice
RCC505 missing-flag-value error a flag lacks its value
RCC506 wrong-flag-value error a flag takes another type of value
RCC507 unknown-flag-choice warning a value is not among the flag's choices
RCC508 invalid-json error a value is not the JSON that its flag takes
RCC509 json-quoted-twice error a JSON value has quotes around it that the engine gets
RCC510 flag-with-value error one string holds a flag and its value
RCC511 kv-pool-by-free-memory info the size of the KV pool depends on what is free at start
RCC512 ambiguous-flag error a shortened flag may mean several
RCC513 shortened-flag warning a flag is shortened
RCC514 deprecated-flag info the engine is about to drop this flag
RCC515 stray-argument error a word that no flag takes
RCC516 memory-fraction warning more memory is taken than a unified-memory node can spare
RCC517 beyond-the-engine error a key asks for what the engine cannot do
RCC601 floating-tag warning an image has no tag, or one that moves
RCC602 unpinned-image warning an image is pinned by its tag alone
RCC603 unpinned-revision warning a model is pinned by a branch or tag alone
RCC604 foreign-architecture warning an image's tag names another architecture than the nodes'
RCC605 unpinned-mount warning an absolute mount source is not pinned
RCC608 image-architecture error the image has no manifest for a node's architecture
RCC610 lock-stale error the lock does not answer what the recipe asks
RCC611 lock-missing error there is no lock
RCC612 invalid-lock error the lock is not one that rcc wrote
RCC613 lock-merge-conflict error the lock holds git's merge markers
RCC614 lock-version error the lock is of a version that this rcc does not read
RCC615 lock-hand-edited error parts of the lock do not belong together
RCC616 lock-not-canonical warning the lock is laid out in another way than rcc writes it
RCC617 lock-not-written error the lock could not be written
RCC618 not-pinned error something is not pinned, and the build was to be locked
RCC701 carried-file-refused error a relative mount source is not a file that the artifacts can carry
RCC702 relative-container-path error a path in the container is not absolute
RCC703 same-target error two mounts or devices have one target
RCC704 nested-mounts warning a mount lies inside another
RCC705 part-of-staging warning a mount takes part of what is staged
RCC706 writable-model-cache warning the model cache is mounted writable
RCC707 snapshot-alone warning a snapshot is mounted without the blobs that it links to
RCC708 docker-socket warning the container gets the docker socket
RCC709 reserved-target error a mount covers what rcc mounts
RCC710 home-path error nothing expands `~` in a mount source
RCC711 system-folder error a folder that is to be rcc's own is one of the system
RCC801 rows-do-not-tile error the ranks' rows do not cover a table exactly once
RCC802 min-free-too-small warning `min_free` is less than the rows need
RCC803 staged-onto-source error data is staged onto its own source
RCC804 staged-not-mounted warning staged data is mounted nowhere
RCC805 source-not-pinned warning a staging source is not pinned to a commit
RCC806 source-of-other-model warning a staging source is another model or commit than the recipe's
RCC807 rows-without-tensor-parallel error rows can be staged for tensor parallelism alone
RCC808 key-of-other-kind warning a staging key has no effect for this kind
RCC809 same-destination error two staging blocks have one destination
RCC901 duplicate-node error two nodes have one name or one address
RCC902 too-few-nodes error the cluster has fewer nodes than the recipe requires
RCC903 parallelism-mismatch error the parallel sizes do not fit the nodes and their GPUs
RCC904 unknown-topology error no NCCL profile of this name, or several and none chosen
RCC905 no-cluster error the recipe needs a cluster file and none was found
RCC906 unknown-node error no node of this name in the cluster
RCC907 unknown-hardware error no hardware profile of this name
RCC908 port-clash error two things listen on one port
RCC909 gid-without-hca error the GID index is to be found and no HCA list says where
RCC910 no-fabric-address error a node of a group has no address to meet the others at
RCC911 no-model-cache error a Hub model is served and the cluster has no `hf_cache`
RCC912 fabric-outside-range warning a fabric address is not in the range that NCCL is to use
RCC913 prefix-length-differs warning a prefix length and an address range disagree
RCC914 node-port-range info a port lies in Kubernetes' node-port range
RCC915 rendezvous-neighbour warning a port is one that the ranks use next to the rendezvous
RCC916 memory-over-node warning a memory limit is larger than what a node has
RCC917 gid-without-ipv4 error the GID index is to be found and the fabric address is no IPv4 one
RCC918 too-much-for-all-ranks error the ranks have more values together than rcc fills
RCC1001 nul-in-value error a value holds a NUL character
RCC1002 not-unicode-value error a value holds bytes that are not UTF-8
RCC1003 value-too-long error a value is longer than a process can be given
RCC1004 program-not-portable error the program's name is one that tools read differently
RCC1005 path-not-portable error a mounted path is one that tools read differently
RCC1006 variable-not-portable error a variable's name is one that does not arrive
RCC1007 name-not-portable error a node or container has a name that files cannot have
RCC1021 kubernetes-variable error Kubernetes does not take a variable of this name
RCC1022 kubernetes-node error Kubernetes has no node of this name
RCC1023 kubernetes-limit info Kubernetes sets no such limit for a process
RCC1024 kubernetes-memory-order info Kubernetes decides itself which process ends when memory runs out
RCC1025 kubernetes-path error Kubernetes does not mount at such a path
RCC1026 kubernetes-cache warning compile caches are gone with each pod
RCC1027 kubernetes-home error Kubernetes knows no home folder on its nodes
RCC1028 kubernetes-privileged warning a device makes a container privileged in Kubernetes
RCC1029 kubernetes-size error files are larger than a ConfigMap may be
RCC1030 kubernetes-ranks-differ error ranks that share a pod template differ in what it says once
RCC1031 kubernetes-head-unasked warning ranks cannot ask the head, and so do not start again with it
RCC1032 kubernetes-read-only info Kubernetes mounts a carried file read-only
RCC1033 kubernetes-annotation error Kubernetes does not take an annotation of this name
RCC1041 unit-too-long error a command line is longer than systemd reads
RCC1051 node-without-login error more than one node is taken for the machine that `cluster.sh` runs on
RCC1089 field-not-expressible error a target cannot say a field of the plan
RCC1090 unknown-target error no target of this name is installed
RCC1091 broken-plugin error a plug-in cannot be loaded, or fails
RCC1092 ambiguous-plugin error two distributions bring a plug-in of one name
RCC1093 misplaced-artifact error a target gave a file where it may not
RCC1101 output-refused error what `-o` names is not rcc's to replace
RCC1102 result-not-written error a result cannot be written
RCC1103 no-result error there is no result where one is looked for
RCC1104 unreadable-result error a manifest, or the order of builds, is not as rcc writes it
RCC1105 stale-artifact error an artifact is not what a build gives now
RCC1106 missing-artifact error an artifact is not there
RCC1107 extra-file error a file in a result is none of its artifacts
RCC1108 changed-mode error a file of a result has another mode
RCC1109 changed-artifact error a file of a result is not what its manifest says
RCC1110 only-inputs-differ info a result's inputs changed, its artifacts did not
RCC1111 not-reproducible error two builds of the same inputs differ
RCC1112 no-former-result error there is no former build to go back to
RCC1113 not-reproduced error a report's build comes out differently
RCC1114 other-rcc info a report was made by another version of rcc
RCC1115 report-not-written error a report cannot be written
RCC1116 unreadable-report error a report is not as rcc writes it
RCC1117 node-differs error what is on the node is not what the result names
RCC1118 not-comparable error two things that cannot be compared
RCC1119 file-exists error a file that would be written is there already
RCC1201 lock-extra-missing error what `rcc lock` needs is not installed
RCC1202 source-unreachable error a registry or hub does not answer
RCC1203 login-refused error a registry or hub refuses the login, or wants one
RCC1204 image-not-found error the registry does not have the image
RCC1205 rate-limited error a registry or hub wants no more requests for now
RCC1206 bad-registry-answer error a registry answers something that no registry may
RCC1207 image-without-platform error the image names no platform that it is for
RCC1208 image-layout error an OCI layout does not give the image
RCC1209 image-daemon error docker or podman does not give the image
RCC1210 stored-login-unreadable warning a stored login cannot be read
RCC1211 model-gated error the model is gated
RCC1212 model-not-found error the hub does not have the model, or not for this login
RCC1213 revision-not-found error the model has no such branch, tag or commit
RCC1214 bad-hub-answer error the hub answers something that it may not
RCC1215 staging-source error a checkpoint cannot be staged as asked
RCC1216 model-cache error a Hugging Face cache does not give the model
RCC1217 blob-damaged error a file in the cache is not what its name says
RCC1218 model-moved warning the model has another name by now
RCC1219 tag-moved warning a tag or branch names something else by now
RCC1220 locked-gone error what the lock names is not there any more
RCC1221 nothing-to-upgrade error what is to be upgraded is not in the recipe
"""


def _parse(table: str) -> dict[str, Code]:
    codes = {}
    for line in table.strip().splitlines():
        code, name, severity, title = line.split(" ", 3)
        codes[code] = Code(name, severity, title)
    return codes


CODES = _parse(_TABLE)
