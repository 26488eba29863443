BinputJ0xz(ÏNŽ…í/¢o
Q¥åKtOâ$7b0–ÿßA³Ùž~Vb>ÚfÐì†: