// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A wallet that is a contract (ERC-1271): it accepts what its owner signed, as 65 bytes that look like anybody's signature or with one word
/// before them, as wallets of several owners write it. A frozen one accepts nothing.
contract ContractWallet {
    bytes4 private constant ACCEPTED = 0x1626ba7e;

    address public immutable owner;
    bool public isFrozen;

    constructor(address owner_) {
        owner = owner_;
    }

    function freeze() external {
        isFrozen = true;
    }

    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        if (isFrozen || (signature.length != 65 && signature.length != 97)) return 0xffffffff;
        bytes calldata signed = signature[signature.length - 65:];
        address signer = ecrecover(digest, uint8(signed[64]), bytes32(signed[:32]), bytes32(signed[32:64]));
        return signer != address(0) && signer == owner ? ACCEPTED : bytes4(0xffffffff);
    }
}
