// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Day roots, each posted once by the owner. No upgrade, no deletion, no transfer of ownership, no receipt of funds.
contract AnchorRoots {
    /// In storage, not immutable: the deployed code then equals the committed artefact.
    address public owner;
    /// Day as integer yyyymmdd => root of its tree. Zero means not posted.
    mapping(uint32 => bytes32) public roots;

    event Anchored(uint32 indexed day, bytes32 root, uint64 ts);

    error NotOwner();
    error EmptyRoot();
    error BadDay(uint32 day);
    error AlreadyAnchored(uint32 day);

    constructor(address owner_) {
        owner = owner_;
    }

    function post(uint32 day, bytes32 root) external {
        if (msg.sender != owner) revert NotOwner();
        if (root == bytes32(0)) revert EmptyRoot();
        uint32 month = (day / 100) % 100;
        uint32 dayOfMonth = day % 100;
        if (day < 20200101 || day > 99991231 || month == 0 || month > 12 || dayOfMonth == 0 || dayOfMonth > 31) revert BadDay(day);
        if (roots[day] != bytes32(0)) revert AlreadyAnchored(day);
        roots[day] = root;
        emit Anchored(day, root, uint64(block.timestamp));
    }
}
